"""Our speed against named peers: ``make bench``, or ``make bench ONLY=engine``."""

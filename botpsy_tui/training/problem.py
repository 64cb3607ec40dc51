"""Why nothing could be exported, in one sentence."""


class TrainingProblem(Exception):
    """The data can't be written as asked; the message says why and what to do."""

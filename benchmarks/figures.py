"""A figure: a value beside a peer's, measured in the same run, and what it should be."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Figure:
    """One measured ratio; it holds where it is at most `target`."""

    name: str
    value: float
    unit: str
    peer: str
    ratio: float
    target: float

    @property
    def holds(self) -> bool:
        """True where the target is met."""
        return self.ratio <= self.target

    def as_json(self) -> dict[str, object]:
        """Return the figure as JSON values."""
        return {**asdict(self), "holds": self.holds}

    def line(self) -> str:
        """Return the figure as one line to read."""
        mark = "✓" if self.holds else "✗"
        return (
            f"{mark} {self.name}: {self.value:,.2f} {self.unit}, {self.ratio:.2f} of {self.peer} "
            f"(target at most {self.target:.2f})"
        )

"""The feeding schedule of the sourdough starter."""

FEEDINGS_PER_DAY = 2
MAX_TEMPERATURE = 28  # degrees Celsius; above it the yeast dies off


class Starter:
    """A jar of starter, fed with equal weights of flour and water."""

    def __init__(self, grams: int) -> None:
        self.grams = grams

    def feed(self, flour: int) -> int:
        """Feed the jar and return its new weight.

        A jar that smells of acetone must be fed twice before anybody bakes
        with it.
        """
        # Half of the jar is discarded first, so that the jar never overflows
        # and the yeast has enough to eat.
        self.grams = self.grams // 2 + 2 * flour
        return self.grams


def is_ripe(hours_since_feeding: float) -> bool:
    """Say whether the starter floats on water."""
    return hours_since_feeding >= 6

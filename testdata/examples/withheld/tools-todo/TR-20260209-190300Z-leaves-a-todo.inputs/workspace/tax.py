def with_tax(cents: int, percent: int) -> int:
    """A price with its tax."""
    return cents + cents * percent // 100

def area(w: float, h: float = 2.0) -> float:
    r: float = w * h
    return r
print(area(3))

class Box:
    def __init__(self):
        self.full = False
b = Box()
print(b.full)
print(b.empty)

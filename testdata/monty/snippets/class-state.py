class Stack:
    def __init__(self):
        self.items = []
    def push(self, v):
        self.items.append(v)
        return self
    def pop(self):
        return self.items.pop()
s = Stack().push(1).push(2)
print(s.pop(), s.pop(), len(s.items))
s.pop()

from dataclasses import dataclass
@dataclass
class Item:
    name: str
    price: float = 1.5
    def double(self):
        return self.price * 2
i = Item('pen')
print(i, i.double(), i == Item('pen'), i == Item('ink', 2.0))

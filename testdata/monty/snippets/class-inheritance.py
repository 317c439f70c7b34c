class Base:
    pass
class Child(Base):
    pass

print(..., NotImplemented, type(...))

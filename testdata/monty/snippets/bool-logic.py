def t(v):
    print('t', v)
    return v
print(t(0) or t(1) and t(2))

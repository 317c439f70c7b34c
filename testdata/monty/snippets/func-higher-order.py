def compose(*fs):
    def run(x):
        for f in fs:
            x = f(x)
        return x
    return run
print(compose(lambda x: x + 1, lambda x: x * 10, str)(4))

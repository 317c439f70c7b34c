import asyncio
async def double(n):
    return n * 2
async def main():
    a, b = await asyncio.gather(double(1), double(21))
    return a + b
print(asyncio.run(main()))

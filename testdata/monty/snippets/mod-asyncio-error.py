import asyncio
async def bad():
    raise ValueError('in a task')
async def main():
    await bad()
asyncio.run(main())

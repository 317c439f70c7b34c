import base64
print(base64.b64encode(b'hello world'), base64.b64decode('aGk='))

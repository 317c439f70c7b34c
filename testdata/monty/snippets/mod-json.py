import json
d = json.loads('{"a": [1, 2.5, null, true], "b": "\\u00e9"}')
print(d, json.dumps(d), json.dumps({'z': 1, 'a': [1, {}]}, indent=2))
print(json.dumps('ünïcode'), json.dumps([1, None, False]))

open('/in/lines.txt', encoding='latin-1')

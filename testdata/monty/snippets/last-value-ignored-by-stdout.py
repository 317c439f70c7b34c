print('printed')
'the value is not printed'

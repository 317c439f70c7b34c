print('leaving')
raise SystemExit('bye')

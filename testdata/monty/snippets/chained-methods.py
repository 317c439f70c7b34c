print('  Mixed Case Text '.strip().lower().replace(' ', '_').split('_'))

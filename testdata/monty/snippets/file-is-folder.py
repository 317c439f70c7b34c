open('/in/sub')

# nothing happens here

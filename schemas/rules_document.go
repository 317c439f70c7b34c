package schemas

var documentRules = []Rule{}

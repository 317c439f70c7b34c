package main

import (
	"context"
	"fmt"

	"github.com/threegate/tool-exec/toolruntime"
	"github.com/threegate/tool-exec/toolruntime/contract"
	"github.com/threegate/tool-exec/toolruntime/workspace"
)

func main() {
	w, err := workspace.Open(".")
	if err != nil {
		panic(err)
	}
	s := toolruntime.New(toolruntime.Tools(w, nil, nil), toolruntime.Options{})
	fmt.Println(s.Do(context.Background(), &contract.ToolRequest{Tool: "grep", Args: []byte(`{"pattern":"need"}`)}).OK)
}

package driver

import "time"

// RunEarly is Run as Main does it with an interpreter that was started some time
// before the job came; used says whether that served the job, and not another one.
func RunEarly(binary string, job Job, env Env, before time.Duration) (code int, used bool) {
	c, err := startChild(binary)
	if err != nil {
		return startExit(err), false
	}
	time.Sleep(before)
	used = c.serves(job)
	return runWith(c, job, env), used
}

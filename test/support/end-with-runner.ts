// Ends the process of a file of tests, and all of its group, when the runner dies. The runner holds the other end.
import { Socket } from 'node:net'
import { isMainThread } from 'node:worker_threads'

// Threads load this file, too.
if (isMainThread) {
  new Socket({ fd: 3 })
    .on('close', () => process.kill(0, 'SIGKILL'))
    .on('error', () => {})
    .resume()
    .unref()
}

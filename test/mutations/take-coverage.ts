// In every process and thread whose coverage is recorded: a thread that is terminated would write none.
import { takeCoverage } from 'node:v8'
import { isMainThread } from 'node:worker_threads'

/** In milliseconds. Each time, only what has run since is written. */
const INTERVAL = 50

if (!isMainThread) setInterval(takeCoverage, INTERVAL).unref()

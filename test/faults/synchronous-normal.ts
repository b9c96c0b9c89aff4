/**
 * For `node --import`: SQLite no longer waits for the disk on each commit. A test of a power cut has to find that
 * writes are lost then.
 */
import { DatabaseSync } from 'node:sqlite'

const exec = DatabaseSync.prototype.exec
DatabaseSync.prototype.exec = function (sql) {
  exec.call(this, sql.replace('synchronous = FULL', 'synchronous = NORMAL'))
}

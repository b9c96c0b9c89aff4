import { type ChildProcess, execFile, spawn } from 'node:child_process'
import {
  lchownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** What a server's data may need at most, in bytes. */
const MEMORY = 2 ** 31

/**
 * Reads the signal and the id of the server on each line, or neither if there is none. When the process that writes
 * them ends, it ends the server and removes the directory. The server and its children may be frozen, so they are
 * thawed too; and what still writes to the directory may need some time. On Linux it also ends every other process that
 * works in the directory, such as a server that the watched one has started and left alone.
 */
const WATCH = `while read -r line; do server=$line; done
test -d "$1" || exit
set -- "$1" $server
if test -n "$3"; then
  kill -s CONT $(cat "/proc/$3/task/$3/children" 2>/dev/null || pgrep -P "$3")
  kill -s "$2" "$3"
  kill -s CONT "$3"
fi
for process in /proc/[0-9]*; do
  case $(readlink "$process/cwd") in "$1" | "$1"/*)
    kill -s QUIT "\${process#/proc/}"
    kill -s CONT "\${process#/proc/}"
  esac
done
for second in 1 2 3 4 5; do sleep 1; rm -rf "$1"; done`

/** Whom a database server runs as; empty if as the user of the tests. */
export interface Owner {
  readonly uid?: number
  readonly gid?: number
}

/** A new directory for a server, which ends with this process, whatever becomes of it. */
export class ServerDirectory {
  readonly path: string
  readonly owner = serverOwner()
  readonly #watchdog

  /** @param parent by default the system's directory for temporary files. */
  constructor(parent: string | undefined = tmpdir()) {
    this.path = mkdtempSync(join(parent, 'books-db-'))
    this.give('')
    // In a group of its own, so that it outlives an interrupt at the terminal, which ends all of this one.
    const args = ['-c', WATCH, 'watchdog', this.path]
    this.#watchdog = spawn('sh', args, { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
    this.#watchdog.on('error', () => {}) // Without a shell there is no watchdog.
    this.#watchdog.stdin.on('error', () => {})
    this.#watchdog.unref()
    ;(this.#watchdog.stdin as Socket).unref()
  }

  join(name: string): string {
    return join(this.path, name)
  }

  /** Writes a file that is the server's own. @returns its path. */
  write(name: string, text: string, mode = 0o600): string {
    writeFileSync(this.join(name), text, { mode })
    this.give(name)
    return this.join(name)
  }

  /** Makes files in it the server's own; of directories only themselves. */
  give(...names: string[]): void {
    const { uid, gid } = this.owner
    if (uid !== undefined && gid !== undefined)
      for (const name of names) lchownSync(this.join(name), uid, gid)
  }

  /**
   * Runs a command as the owner of the directory, and in it.
   * @returns what it wrote to standard output.
   * @throws Error with what it wrote to standard error, if it fails or takes over a minute.
   */
  async run(file: string, args: readonly string[]): Promise<string> {
    const options = { cwd: this.path, timeout: 60_000, ...this.owner }
    return (await promisify(execFile)(file, args, options)).stdout
  }

  /** The ids of all processes that work in it, or in a folder of it, whoever started them. Linux only. */
  processes(folder = ''): number[] {
    const path = this.join(folder).replace(/\/?$/, '/')
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => {
        try {
          return `${readlinkSync(`/proc/${pid}/cwd`)}/`.startsWith(path)
        } catch {
          return false // It has ended, or is another user's.
        }
      })
  }

  /** Sees to it that the server ends when this process does. */
  watch(server: ChildProcess, signal: NodeJS.Signals): void {
    this.#watchdog.stdin.write(`${signal.slice('SIG'.length)} ${server.pid}\n`)
    server.on('exit', () => this.#watchdog.stdin.write('\n'))
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true })
    this.#watchdog.stdin.end()
  }
}

/**
 * Database servers refuse to run as root, so root's run as `nobody`.
 * @throws Error if there is no such user.
 */
function serverOwner(): Owner {
  if (process.getuid?.() !== 0) return {}
  const [, uid, gid] = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? []
  if (uid === undefined)
    throw new Error('no user to run a database server as: root may not, and nobody is not known')
  return { uid: Number(uid), gid: Number(gid) }
}

/**
 * A directory in memory for data that need not last, if there is one that is large enough, and that
 * programs may be run from. While other tests load the disk, databases are made there ten times faster.
 */
export function memoryDirectory(): string | undefined {
  const path = '/dev/shm'
  try {
    const [, options] = /^\S+ \/dev\/shm tmpfs (\S+)/m.exec(readFileSync('/proc/mounts', 'utf8')) ?? []
    const { bavail, bsize } = statfsSync(path)
    return options?.includes('noexec') === false && bavail * bsize >= MEMORY ? path : undefined
  } catch {
    return undefined // Not a Linux.
  }
}

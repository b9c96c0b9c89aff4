import { execFileSync } from 'node:child_process'
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { temporaryDirectory } from '../support/service.ts'

const isPossible = process.platform === 'linux' && process.getuid?.() === 0 && existsSync('/dev/loop-control')

/** Why tests with a disk of their own are skipped, or false. Where FAULTS is `required`, they fail instead. */
export const diskMissing =
  !isPossible && process.env.FAULTS !== 'required' && 'needs Linux, root and loop devices'

/**
 * No writing back while a test goes on, other than what a program waits for: a copy that is taken meanwhile would
 * mix the states of two moments.
 */
const MOUNT_OPTIONS = 'loop,commit=600'

/** Disks to remove when the process ends. */
const disks = new Set<LoopDisk>()
process.on('exit', () => {
  for (const disk of disks) disk[Symbol.dispose]()
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** An ext4 file system in an image file, mounted. */
export class LoopDisk implements Disposable {
  /** Where it is mounted. */
  readonly path: string
  readonly #directory = temporaryDirectory()
  readonly #image = join(this.#directory.path, 'image')
  readonly #copy = join(this.#directory.path, 'copy')

  /** @param size in MiB. */
  constructor(size: number) {
    this.path = join(this.#directory.path, 'disk')
    mkdirSync(this.path)
    execFileSync('truncate', ['--size', `${size}M`, this.#image])
    execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', this.#image])
    this.#mount()
    disks.add(this)
  }

  /** Takes all the room that there is. @returns the file that takes it. */
  fillUp(): string {
    const path = join(this.path, 'filler')
    const file = openSync(path, 'w')
    for (const size of [1024 * 1024, 512]) {
      try {
        for (;;) writeSync(file, Buffer.alloc(size, 'x'))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      }
    }
    fsyncSync(file)
    closeSync(file)
    return path
  }

  /**
   * Copies what has reached the device, and not what the file system still has in memory, as a power cut would
   * leave it. Nothing may write to the files meanwhile.
   */
  async copyAsPowerCut(): Promise<void> {
    for (;;) {
      const before = this.#written()
      copyFileSync(this.#image, this.#copy)
      if (before.idle && this.#written().total === before.total) return
      await setTimeout(20)
    }
  }

  /** Goes on with the copy in place of the original. */
  continueWithCopy(): void {
    this.#unmount()
    renameSync(this.#copy, this.#image)
    this.#mount()
  }

  [Symbol.dispose](): void {
    this.#unmount()
    this.#directory.remove()
    disks.delete(this)
  }

  #mount(): void {
    execFileSync('mount', ['-t', 'ext4', '-o', MOUNT_OPTIONS, this.#image, this.path])
  }

  /** The loop device goes with it. A process that was killed may hold it for a moment more. */
  #unmount(): void {
    execFileSync('umount', ['--lazy', this.path])
  }

  /** How many sectors were written to the device, and whether it has nothing to do. */
  #written(): { total: number; idle: boolean } {
    const list = ['--noheadings', '--output', 'NAME', '--associated', this.#image]
    const device = basename(execFileSync('losetup', list, { encoding: 'utf8' }).trim())
    const fields = readFileSync(`/sys/block/${device}/stat`, 'utf8').trim().split(/\s+/).map(Number)
    // Fields of the kernel's Documentation/block/stat.rst.
    const [total, inFlight] = [fields[6], fields[8]]
    if (total === undefined || inFlight === undefined) throw new Error(`no figures of ${device}`)
    return { total, idle: inFlight === 0 }
  }
}

/** Stops the process where it is, as if there were no more electricity, and waits until all its threads stand. */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  const stands = (thread: string) =>
    /^\d+ \(.*\) T /s.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8'))
  while (!readdirSync(`/proc/${pid}/task`).every(stands)) await setTimeout(1)
}

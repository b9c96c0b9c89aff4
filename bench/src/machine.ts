import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { arch, cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { percentile } from './statistics.ts'

/** The machine that a bench ran on. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  /** In bytes. */
  readonly memory: number
  readonly system: string
  readonly fileSystem: string
  /** How long the disk takes to write 4 KiB for good, in milliseconds; the median. */
  readonly syncTime: number
  /** How many processes were running or waiting for the disk in the minute before, on average. */
  readonly load: number
}

/** Magic numbers of statfs(2). */
const FILE_SYSTEMS: Record<number, string> = {
  61267: 'ext4',
  1481003842: 'XFS',
  2435016766: 'Btrfs',
  16914836: 'tmpfs',
  2035054128: 'overlayfs',
  801189825: 'ZFS',
}

/** @param directory where the databases are going to be. */
export function describeMachine(directory: string): Machine {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memory: totalmem(),
    system: `${distribution()}, Linux ${release()}, ${arch()}`,
    fileSystem: fileSystem(directory),
    syncTime: syncTime(directory),
    load: loadavg()[0] ?? 0,
  }
}

function distribution(): string {
  return /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'unknown'
}

function fileSystem(directory: string): string {
  const { type } = statfsSync(directory)
  return FILE_SYSTEMS[type] ?? `0x${type.toString(16)}`
}

function syncTime(directory: string): number {
  const path = join(directory, 'sync-time')
  const file = openSync(path, 'w')
  const block = Buffer.alloc(4096, 1)
  const times = Array.from({ length: 200 }, () => {
    const begin = performance.now()
    writeSync(file, block)
    fdatasyncSync(file)
    return performance.now() - begin
  })
  closeSync(file)
  rmSync(path)
  return percentile(
    times.toSorted((a, b) => a - b),
    0.5,
  )
}

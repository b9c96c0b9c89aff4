import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Contender } from './contenders.ts'
import { buildGinGorm } from './gin-gorm.ts'

const BENCH = resolve(import.meta.dirname, '..')
const SERVICE = resolve(BENCH, '..')

/** Installs this service's packages, if that is still to be done, and builds what needs to be built. */
export function prepare(contenders: readonly Contender[]): void {
  if (!existsSync(resolve(SERVICE, 'node_modules/fastify'))) run('npm', ['ci'], SERVICE)
  run(process.execPath, [typescriptCompiler(), '-p', 'contenders/nestjs-typeorm'], BENCH)
  if (contenders.some(({ runtime }) => runtime === 'Go')) buildGinGorm()
}

function typescriptCompiler(): string {
  return resolve(BENCH, 'node_modules/typescript/bin/tsc')
}

function run(file: string, args: readonly string[], cwd: string): void {
  const { status, error } = spawnSync(file, args, { cwd, stdio: 'inherit', timeout: 600_000 })
  if (status !== 0)
    throw new Error(`${file} ${args.join(' ')} failed: ${error?.message ?? `exit code ${status}`}`)
}

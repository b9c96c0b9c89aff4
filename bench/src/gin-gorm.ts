import { spawnSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'

const BENCH = resolve(import.meta.dirname, '..')
const PROGRAM = resolve(BENCH, 'dist/gin-gorm')

/** What the contender in Go is built of, beside Go itself: the Debian packages by the names of the libraries. */
export const GO_PACKAGES: Readonly<Record<string, string>> = {
  gin: 'golang-github-gin-gonic-gin-dev',
  gorm: 'golang-github-jinzhu-gorm-dev',
  pq: 'golang-github-lib-pq-dev',
  jwt: 'golang-github-golang-jwt-jwt-dev',
}

/** Where the packages put their sources. Go looks nowhere else, and needs no C compiler. */
const ENVIRONMENT = { GOPATH: '/usr/share/gocode', GO111MODULE: 'off', CGO_ENABLED: '0' }

/** Builds the contender. Where Go or a package of it is not installed, nothing is built. */
export function buildGinGorm(): void {
  rmSync(PROGRAM, { force: true })
  spawnSync('go', ['build', '-o', PROGRAM, './contenders/gin-gorm'], {
    cwd: BENCH,
    env: { ...process.env, ...ENVIRONMENT },
    stdio: 'inherit',
    timeout: 600_000,
  })
}

/** The program that was built. @throws Error that says what it needs, if there is none. */
export function ginGorm(program = PROGRAM): string {
  if (existsSync(program)) return program
  const packages = ['golang-go', ...Object.values(GO_PACKAGES)].join(' ')
  throw new Error(`contenders/gin-gorm could not be built; it needs the Debian packages ${packages}`)
}

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { findProgram } from '../support/program.ts'
import { ACCOUNT, SECRET, START_TIME } from '../support/service.ts'
import type { Image } from './build-image.ts'

const RUNC = findProgram('runc')

/** Why no container can be run here, or false. */
export const containersMissing = RUNC.missing

/**
 * A container of the service, with the network of this machine and what its image says. It has no capability, and can
 * write nowhere but to its volume.
 */
export class Container {
  readonly url: string
  readonly #name: string
  readonly #state: readonly string[]
  readonly #process: ChildProcess
  readonly #ended: Promise<unknown[]>

  private constructor(name: string, state: readonly string[], port: number, process: ChildProcess) {
    this.#name = name
    this.#state = state
    this.url = `http://127.0.0.1:${port}`
    this.#process = process
    this.#ended = once(process, 'exit')
  }

  /**
   * Starts the service in a new container, and waits until it is ready.
   * @param directory for what the runtime has to know.
   * @param volume the directory that is at the volume of the image.
   */
  static async start(image: Image, directory: string, volume: string, port: number): Promise<Container> {
    const { config, root } = image
    const name = `books-${port}`
    const bundle = join(directory, name)
    mkdirSync(bundle)
    execFileSync(RUNC.file, ['spec', '--bundle', bundle])
    const file = join(bundle, 'config.json')
    const spec = JSON.parse(readFileSync(file, 'utf8'))
    const [uid, gid] = config.User.split(':').map(Number)
    const settings = { PORT: port, PASSWORD: ACCOUNT.password, SECRET_TOKEN: SECRET }
    Object.assign(spec.process, {
      terminal: false,
      user: { uid, gid },
      args: config.Cmd,
      env: [...config.Env, ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)],
      cwd: config.WorkingDir,
      capabilities: {},
    })
    spec.root = { path: root, readonly: true }
    const [destination] = Object.keys(config.Volumes)
    spec.mounts.push({ destination, type: 'bind', source: volume, options: ['bind', 'rw'] })
    spec.linux.namespaces = spec.linux.namespaces.filter(({ type }: { type: string }) => type !== 'network')
    writeFileSync(file, JSON.stringify(spec))
    const state = ['--root', join(directory, 'state')]
    const process = spawn(RUNC.file, [...state, 'run', '--bundle', bundle, name], { stdio: 'inherit' })
    const container = new Container(name, state, port, process)
    await container.#ready()
    return container
  }

  /** Runs a command in it. @returns what it wrote to standard output. @throws Error if it fails. */
  exec(command: readonly string[], input = ''): string {
    const args = [...this.#state, 'exec', this.#name, ...command]
    return execFileSync(RUNC.file, args, { encoding: 'utf8', input, stdio: 'pipe' })
  }

  /** Sends a signal to the service. */
  signal(signal: NodeJS.Signals): void {
    execFileSync(RUNC.file, [...this.#state, 'kill', this.#name, signal])
  }

  /** @returns the exit code of the service, when it has ended. The runtime has removed the container then. */
  async ended(): Promise<unknown> {
    return (await this.#ended)[0]
  }

  /** Ends it at once, if it still runs. */
  async kill(): Promise<void> {
    if (this.#process.exitCode === null) this.signal('SIGKILL')
    await this.#ended
  }

  async #ready(): Promise<void> {
    const deadline = Date.now() + START_TIME
    while (Date.now() < deadline && this.#process.exitCode === null) {
      if ((await fetch(`${this.url}/readyz`).catch(() => undefined))?.ok) return
      await setTimeout(50)
    }
    this.#process.kill('SIGKILL')
    throw new Error('the container is not ready')
  }
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeMachine } from './machine.ts'
import type { Options } from './options.ts'
import { plan, type SessionPlan } from './plan.ts'
import { writeReport } from './report/write.ts'
import type { Results } from './results.ts'
import { removeServers, serverVersions, startServers } from './servers.ts'
import { runSession } from './session.ts'
import { ownVersion, versionsOf } from './versions.ts'

/**
 * Measures all contenders, round by round, and writes what it finds.
 * @param command that the report names.
 */
export async function bench(options: Options, command: string): Promise<void> {
  const begun = new Date()
  // On the disk that the system has for temporary files, which has to be one: writes are to reach it.
  const directory = mkdtempSync(join(tmpdir(), 'book-bench-'))
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
  const machine = describeMachine(directory)
  const servers = await startServers(new Set(options.contenders.map(({ store }) => store)))
  try {
    const names = await serverVersions(servers)
    const results: Results = {
      machine,
      version: ownVersion(),
      command,
      begun: begun.toISOString(),
      duration: 0,
      versions: Object.fromEntries(options.contenders.map((one) => [one.id, versionsOf(one, names)])),
      runs: [],
      sessions: [],
      failed: [],
    }
    const sessions = plan(options)
    for (const [i, session] of sessions.entries()) {
      const before = results.runs.length
      await runSession(session, options, servers, directory, results)
      results.duration = (Date.now() - begun.getTime()) / 1000
      say(session, `${i + 1}/${sessions.length}`, results, before)
      // After each round, so that little is lost if something goes wrong.
      if (sessions[i + 1]?.round !== session.round) await writeReport(results, options.output)
    }
  } finally {
    await removeServers(servers)
  }
}

/** One line for each measurement, for whoever waits. */
function say(
  { contender, round, purpose, books }: SessionPlan,
  step: string,
  results: Results,
  from: number,
): void {
  const write = (text: string) => process.stdout.write(`${text}\n`)
  write(
    `${step}  round ${round}  ${purpose}, ${books} books  ${contender.title}  ${Math.round(results.duration)} s`,
  )
  for (const { workload, connections, answers, seconds, cpu, failure } of results.runs.slice(from)) {
    const perRequest = Math.round((1e6 * cpu.server) / answers)
    const what = failure ?? `${Math.round(answers / seconds)}/s  ${perRequest} µs`
    write(`    ${workload} × ${connections}: ${what}`)
  }
  const last = results.failed.at(-1)
  if (
    last?.contender === contender.id &&
    last.round === round &&
    last.purpose === purpose &&
    last.books === books
  ) {
    write(`    failed: ${last.reason}`)
  }
}

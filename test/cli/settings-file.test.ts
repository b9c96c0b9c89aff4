import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { readSettingsFile } from '../../src/cli/settings-file.ts'
import { readConfig } from '../../src/config.ts'
import { SETTING_NAMES } from '../../src/settings.ts'
import { runCommand } from '../support/command.ts'
import { knownSettings } from '../support/known-settings.ts'
import { temporaryDirectory } from '../support/service.ts'

const directory = temporaryDirectory()
after(directory.remove)
const path = join(directory.path, 'x.env')

function read(content: string | Buffer) {
  writeFileSync(path, content)
  const { variables, faults } = readSettingsFile(path, true)
  return { variables, faults: faults.map((fault) => fault.replace(`${path} line `, '')) }
}

it('the settings have the names that are asked for', () =>
  assert.deepEqual(SETTING_NAMES.toSorted(), knownSettings()))

describe('a file of settings', () => {
  for (const [text, variables] of [
    ['PORT=1\nHOST=h', { PORT: '1', HOST: 'h' }],
    ['\uFEFFPORT=1\r\n\r\nHOST=h\r\n', { PORT: '1', HOST: 'h' }],
    ['# PORT=2\n  # no setting: x\n\n \t\nPORT=1 # one', { PORT: '1' }],
    ['export PORT=1\n  HOST = h ', { PORT: '1', HOST: 'h' }],
    ['PASSWORD="a # b" # c\nUSERNAME=\'"\'', { PASSWORD: 'a # b', USERNAME: '"' }],
    ['PASSWORD="a\nPORT: 2\nb"\nPORT=1', { PASSWORD: 'a\nPORT: 2\nb', PORT: '1' }],
    ['SECRET_TOKEN=a=b==\nDB_URL=host=h dbname=d', { SECRET_TOKEN: 'a=b==', DB_URL: 'host=h dbname=d' }],
    ['PORT=\nexport HOST=', { PORT: '', HOST: '' }],
    // Other programs may share the file.
    ['PGHOST=h\nNODE_ENV=x\nTZ=UTC\nLC_ALL=C\nhttps_proxy=p', undefined],
    ['COMPOSE_PROJECT_NAME=b\nPOSTGRES_PASSWORD=a#b"\nMARIADB_USER=u\nMYSQL_DATABASE=d\nSITE=s', undefined],
  ] as const) {
    it(`may have ${JSON.stringify(text)}`, () => {
      const read_ = read(text)
      assert.deepEqual(read_.faults, [])
      if (variables !== undefined) assert.deepEqual(read_.variables, variables)
    })
  }

  for (const [text, ...faults] of [
    ['DBURL=sqlite:x', '1: DBURL is not a setting; the nearest one is DB_URL'],
    ['\nDATABASE_URL=x\n', '2: DATABASE_URL is not a setting; the nearest one is DB_URL'],
    ['PORT=1\r\nSECRET_TOKN=x', '2: SECRET_TOKN is not a setting; the nearest one is SECRET_TOKEN'],
    ['export secret=x', '1: secret is not a setting; the nearest one is SECRET_TOKEN'],
    ['port=1', '1: port is not a setting; the nearest one is PORT'],
    ['PORT: 8194', '1: no NAME=value; the nearest setting is PORT'],
    ['PASSWORD hunter', '1: no NAME=value; the nearest setting is PASSWORD'],
    ['[service]', /^1: no NAME=value; /],
    ['=x', /^1: no NAME=value; /],
    [
      'PASSWORD="a\nb"\nLOGLEVEL=info\nset HOST=h',
      '3: LOGLEVEL is not a setting; the nearest one is LOG_LEVEL',
      '4: this name is not a setting; the nearest one is HOST',
    ],
    ['PASSWORD=hunter2#x', '1: PASSWORD is cut by its #; put the value into quotation marks'],
    ['PGPASSWORD=hunter2#x', '1: PGPASSWORD is cut by its #; put the value into quotation marks'],
    ['PASSWORD="hunter2"x"', '1: PASSWORD goes on after its quotation marks'],
    ['PASSWORD="hunter2', '1: PASSWORD has no closing quotation mark'],
    // What may be the rest of a secret is not shown.
    ['PASSWORD=x\nhunter2=\n', /^2: this name is not a setting; /],
    ['hunter2', /^1: no NAME=value; /],
  ] as const) {
    it(`may not have ${JSON.stringify(text)}`, () => {
      const found = read(text).faults
      assert.equal(found.length, faults.length)
      for (const [i, fault] of faults.entries()) {
        if (typeof fault === 'string') assert.equal(found[i], fault)
        else assert.match(found[i] ?? '', fault)
      }
      assert.ok(!found.join().includes('hunter'))
    })
  }

  for (const mark of ['', '\uFEFF']) {
    it(`may not be in UTF-16, ${mark === '' ? 'without' : 'with'} a byte order mark`, () => {
      const little = Buffer.from(`${mark}PORT=1\r\n`, 'utf16le')
      for (const bytes of [little, Buffer.from(little).swap16()])
        assert.throws(() => read(bytes), {
          message: `the file ${path} is not text in UTF-8; save it in UTF-8 (PowerShell: | Out-File -Encoding utf8)`,
        })
    })
  }

  it('is told with all faults of the settings at once, by check and at the start', async () => {
    writeFileSync(join(directory.path, '.env'), 'DBURL=sqlite:x\nTHREADS: 2\nPORT=x\n')
    for (const command of ['check', 'serve']) {
      const { code, stdout, stderr } = await runCommand(directory.path, {}, command)
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(
        stderr,
        /^Cannot start.*: \.env line 1: DBURL .*\n {2}\.env line 2: .* THREADS\n {2}PORT is "x"; .*\n$/,
      )
    }
  })
})

describe('a variable of the environment', () => {
  for (const [names, meant] of Object.entries({
    'DBURL DB_URI DB_ULR db_url': 'DB_URL',
    'SECRET_TOKN SECRETTOKEN': 'SECRET_TOKEN',
    'PROT port PORTT': 'PORT',
    'HOTS HOST_': 'HOST',
    'PASWORD PASSWD': 'PASSWORD',
    LOGLEVEL: 'LOG_LEVEL',
  }))
    for (const name of names.split(' '))
      it(`that is called ${name} is warned about`, () =>
        assert.ok(
          readConfig({ [name]: 'x' }).warnings.includes(
            `${name} is not a setting; perhaps ${meant} is meant`,
          ),
        ))

  it('of another program is not warned about', () => {
    const others = [
      'HOME HOSTNAME HOSTTYPE USER LOGNAME PATH PWD OLDPWD SHELL SHLVL TERM LANG TZ TMPDIR EDITOR PAGER MAIL DISPLAY',
      'TEST ROOT PGPORT PGPASSWORD MYSQL_HOST NODE_ENV KUBERNETES_PORT KUBERNETES_SERVICE_HOST http_proxy no_proxy',
    ]
    const environment = Object.fromEntries(
      others.flatMap((names) => names.split(' ')).map((name) => [name, 'x']),
    )
    assert.deepEqual(readConfig({ ...environment, SECRET_TOKEN: 'x'.repeat(32) }).warnings, [])
  })

  it('is warned about by check', async () => {
    const { code, stdout } = await runCommand(
      directory.path,
      { DBURL: 'sqlite:x' },
      'check',
      '--settings',
      '/dev/null',
    )
    assert.equal(code, 0)
    assert.match(stdout, /^warning: DBURL is not a setting; perhaps DB_URL is meant$/m)
  })
})

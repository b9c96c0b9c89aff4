import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { withSettings } from '../../src/cli/command.ts'
import { readSettingsFile } from '../../src/cli/settings-file.ts'
import { temporaryDirectory } from '../support/service.ts'

const directory = temporaryDirectory()
after(directory.remove)
const path = join(directory.path, 'x.env')

function read(content: string | Buffer) {
  writeFileSync(path, content)
  const { variables, faults } = readSettingsFile(path, true)
  return { variables, faults: faults.map((fault) => fault.replace(`${path} line `, '')) }
}

describe('a file of settings', () => {
  for (const [text, variables] of [
    ['\uFEFFPORT=1\r\n\r\nHOST=h\r\n', { PORT: '1', HOST: 'h' }],
    ['PORT=1\rHOST=h\r', { PORT: '1', HOST: 'h' }],
    ['# PORT=2\n  # no setting: x\n\n \t\nPORT=1 # one', { PORT: '1' }],
    ['export PORT=1\n  HOST = h ', { PORT: '1', HOST: 'h' }],
    ['PASSWORD="a # b" # c\nUSERNAME=\'"\'', { PASSWORD: 'a # b', USERNAME: '"' }],
    ['PASSWORD="a\nPORT: 2\nb"\nPORT=1', { PASSWORD: 'a\nPORT: 2\nb', PORT: '1' }],
    ['SECRET_TOKEN=a=b==\nDB_URL=host=h dbname=d', { SECRET_TOKEN: 'a=b==', DB_URL: 'host=h dbname=d' }],
    ['PORT=\nexport HOST=', { PORT: '', HOST: '' }],
    // Other programs may share the file.
    ['NODE_KEY="-\nHOST: x\nPGx1=\nMYPORT=\n-"\nPORT=1', undefined],
    ['PGHOST=h\nNODE_ENV=x\nTZ=UTC\nLC_ALL=C\nhttps_proxy=p', undefined],
    ['COMPOSE_PROJECT_NAME=b\nPOSTGRES_PASSWORD=a#b"\nMARIADB_USER=u\nMYSQL_DATABASE=d\nSITE=s', undefined],
    ['DOCKER_X=x\nMALLOC_X=x\nSQLITE_TMPDIR=t\nSYSTEMD_X=x\nUPSTREAM=u\nLANG=C\nLANGUAGE=d', undefined],
    ['PATH=p\nHOME=h\nTMPDIR=t\nPUID=1\nUMASK=2\nHTTP_PROXY=p\nALL_PROXY=p\nNO_PROXY=p', undefined],
  ] as const)
    it(`may have ${JSON.stringify(text)}`, () => {
      const found = read(text)
      assert.deepEqual(found.faults, [])
      if (variables !== undefined) assert.deepEqual(found.variables, variables)
    })

  for (const [text, ...faults] of [
    ['DBURL=sqlite:x', '1: DBURL is not a setting; the nearest one is DB_URL'],
    ['export secret=x', '1: secret is not a setting; the nearest one is SECRET_TOKEN'],
    ['PORT: 8194', '1: no NAME=value; the nearest setting is PORT'],
    ['PASSWORD hunter', '1: no NAME=value; the nearest setting is PASSWORD'],
    ['=x', '1: no NAME=value; the nearest setting is '],
    [
      'PASSWORD="a\nb"\r\nLOGLEVEL=info\nset HOST=h',
      '3: LOGLEVEL is not a setting; the nearest one is LOG_LEVEL',
      '4: this name is not a setting; the nearest one is HOST',
    ],
    ['PASSWORD=hunter2#x', '1: PASSWORD is cut by its #; put the value into quotation marks'],
    ['PASSWORD="hunter2"x', '1: PASSWORD goes on after its quotation marks'],
    ['PASSWORD="hunter2', '1: PASSWORD has no closing quotation mark'],
    ['TZ="UTC\nPORT=1\nHOST="hunter"', '1: TZ has no closing quotation mark before the line of PORT; add it'],
    ["HOST='h\n export PORT = 1'", '1: HOST has no closing quotation mark before the line of PORT; add it'],
    // What may be the rest of a secret is not shown.
    ['PASSWORD=x\nhunter2=\n', '2: this name is not a setting; the nearest one is '],
    [`${'hunter'.repeat(6)}=\n`, '1: this name is not a setting; the nearest one is '],
  ] as const)
    it(`may not have ${JSON.stringify(text)}`, () => {
      const found = read(text).faults
      assert.equal(found.length, faults.length)
      for (const [i, fault] of faults.entries())
        assert.equal(fault.endsWith('is ') ? found[i]?.slice(0, fault.length) : found[i], fault)
      assert.ok(!found.join().includes('hunter'))
    })

  it('may be missing where it is not needed, but not unreadable', () => {
    assert.deepEqual(readSettingsFile(`${path}-none`, false), { variables: {}, faults: [] })
    assert.throws(() => readSettingsFile(directory.path, false), /cannot be read: EISDIR/)
  })

  it('may not be in UTF-16, with or without a byte order mark', () => {
    const message = `the file ${path} is not text in UTF-8; save it in UTF-8 (PowerShell: | Out-File -Encoding utf8)`
    for (const text of ['PORT=1\r\n', '\uFEFFPORT=1\r\n'])
      assert.throws(() => read(Buffer.from(text, 'utf16le')), { message })
  })
})

for (const [what, content, environment, username] of [
  ['in the file', 'USERNAME=u\nHOST=127.0.0.1', { USERNAME: 'me', HOST: 'x.invalid', PASSWORD: 'p' }, 'u'],
  ['with a PASSWORD', 'PASSWORD=q', { USERNAME: 'me', PASSWORD: 'p' }, 'me'],
  ['with a PASSWORD_FILE', '# its content', { USERNAME: 'me', PASSWORD_FILE: path }, 'me'],
  ['without a PASSWORD', 'PASSWORD=q', { USERNAME: 'me' }, 'admin'],
] as const)
  it(`USERNAME and HOST, which desktops and conda set too, count where they are meant: ${what}`, async (t) => {
    writeFileSync(path, content)
    t.mock.property(process, 'env', { HOST: '127.0.0.1', ...environment })
    const found: unknown[] = []
    await withSettings('start', { values: { settings: path }, operand: '' }, async (config) => {
      found.push(config.username, config.host, config.generated.has('PASSWORD'))
    })
    assert.deepEqual(found, [username, '127.0.0.1', false])
  })

// The package that npm makes of this directory, as others install it. Not a part of `npm test`, because npm loads what
// it depends on, several times.
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ownNpm, ROOT, run } from '../support/npm.ts'
import { runSpec } from '../support/run-spec.ts'
import { temporaryDirectory } from '../support/service.ts'
import { assertPages } from './pages.ts'

const { name, version, dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** The most that the package may weigh, in bytes. */
const LARGEST = 600_000

const directory = temporaryDirectory()
after(directory.remove)
const archive = join(directory.path, `${name}-${version}.tgz`)
before(() => ownNpm().run(['pack', '--pack-destination', directory.path]))

/** @returns npm for a project of its own, and what it said when it installed the package there. */
function install(project: string, ...what: string[]) {
  const path = join(directory.path, project)
  mkdirSync(path)
  writeFileSync(join(path, 'package.json'), '{ "type": "module" }')
  const npm = ownNpm(path)
  return { path, npm, output: npm.run(['install', ...what]) }
}

describe('the package', () => {
  it('is not made if the compiler refuses the code', () => {
    const cwd = join(directory.path, 'refused')
    mkdirSync(join(cwd, 'src'), { recursive: true })
    writeFileSync(join(cwd, 'tsc'), '#!/bin/sh\nexit 2\n', { mode: 0o755 })
    const env = { ...process.env, PATH: `${cwd}:${process.env.PATH}` }
    assert.throws(() => run(process.execPath, [join(ROOT, 'package/build.js')], { cwd, env }), /: 2\n/)
  })

  it('has what runs, and nothing else', (t) => {
    const files = run('tar', ['-tzf', archive]).trim().split('\n')
    const needed =
      /^package\/(package\.json|README\.md|LICENSE|examples\/books\.csv|bin\/[\w-]+\.js|web\/.+\.(js|css|html|svg)|dist\/.+\.js(\.map)?|dist\/(index|errors|settings)\.d\.ts)$/
    assert.deepEqual(
      files.filter((file) => !needed.test(file)),
      [],
    )
    const { size } = statSync(archive)
    t.diagnostic(`${files.length} files in ${size} bytes`)
    assert.ok(size < LARGEST, `${size}`)
  })

  describe('in a project', () => {
    let project: ReturnType<typeof install>
    before(() => {
      project = install('project', archive)
    })

    it('is installed without a warning about its scripts', () => {
      assert.doesNotMatch(project.output, /install.?scripts|allow.?scripts/i)
    })

    it('has the command line', () => {
      assert.match(
        project.npm.run(['exec', '--', 'book-catalogue', '--version']),
        RegExp(`^${version}$`, 'm'),
      )
      assert.match(project.npm.run(['exec', '--', 'book-catalogue', 'check']), /^The settings are good/m)
      const init = ['exec', '--', 'book-catalogue', 'init']
      assert.match(
        project.npm.run(init),
        /start the service in this directory: the same command without init$/m,
      )
    })

    it('keeps the contract, with several threads, and has the pages with all their files', async () => {
      const command = ['exec', '--', 'book-catalogue', 'serve']
      await using service = await project.npm.start({ THREADS: '2' }, command)
      await assertPages(service.url)
      await runSpec(service.url, {}, [])
      service.process.kill('SIGTERM')
      await service.ended
      assert.doesNotMatch(service.output(), /Warning/)
    })

    it('is a part of another program, as docs/embedding.md shows, with types that need no others', () => {
      const document = readFileSync(join(ROOT, 'docs/embedding.md'), 'utf8')
      const example = /```ts\n(.*?)```/s.exec(document)?.[1] ?? assert.fail()
      writeFileSync(join(project.path, 'example.ts'), example)
      assert.match(run(process.execPath, ['example.ts'], { cwd: project.path }), /^200$/m)
      const wrong = example.replace('PORT: 0', 'PORTS: 0')
      writeFileSync(join(project.path, 'wrong.ts'), wrong)
      const flags =
        '--ignoreConfig --noEmit --strict --module nodenext --target esnext --lib esnext,dom --types'
      const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
      const compile = (file: string) =>
        run(process.execPath, [tsc, ...flags.split(' '), '', file], { cwd: project.path })
      compile('example.ts')
      assert.throws(() => compile('wrong.ts'), /'PORTS' does not exist in type 'Settings'/)
    })
  })

  it('is installed for all programs', () => {
    const prefix = join(directory.path, 'prefix')
    ownNpm(directory.path).run(['install', '--global', '--prefix', prefix, archive])
    assert.equal(run(join(prefix, 'bin/book-catalogue'), ['--version']), `${version}\n`)
  })

  it('is made from what is committed, when npm installs it from git', () => {
    run('git', ['clone', '--quiet', '--bare', ROOT, join(directory.path, 'bare.git')])
    const { npm } = install('project from git', '--allow-git=all', `git+file://${directory.path}/bare.git`)
    assert.match(npm.run(['exec', '--', 'book-catalogue', '--version']), RegExp(`^${version}$`, 'm'))
  })
})

describe('npm run release', () => {
  const clone = join(directory.path, 'clone')
  const git = (...args: string[]) =>
    run('git', ['-C', clone, '-c', 'user.name=T', '-c', 'user.email=t@t', ...args])
  const release = (version: string) => ownNpm(clone).run(['run', 'release', '--', version])
  before(() => {
    run('git', ['clone', '--quiet', ROOT, clone])
    ownNpm(clone).run(['ci'])
  })

  it('refuses what is no release, and changes nothing', () => {
    const isOlder = /0\.9\.9 is not newer than/
    assert.throws(() => release('0.9.9'), isOlder)
    writeFileSync(join(clone, 'CHANGELOG.md'), `# Changelog\n\n## ${version} (2026-01-01)\n`)
    assert.throws(
      () => release('next'),
      /name a version such as 1\.2\.3, not "next"\n {2}there are changes .*\n {2}CHANGELOG\.md has no list/,
    )
    assert.equal(git('diff', '--name-only'), 'CHANGELOG.md\n')
  })

  it('raises the version in all places, and makes the package, its bill of materials and the licences', () => {
    const changes = `# Changelog\n\n## Unreleased\n\n- New.\n\n## ${version} (2026-01-01)\n`
    writeFileSync(join(clone, 'CHANGELOG.md'), changes)
    git('commit', '--all', '--quiet', '--message', 'A change')
    const next = `${Number.parseInt(version, 10) + 1}.0.0`
    assert.match(release(next), /git tag v/)
    assert.equal(ownNpm(clone).run(['exec', '--', 'book-catalogue', '--version']), `${next}\n`)
    assert.match(readFileSync(join(clone, 'CHANGELOG.md'), 'utf8'), RegExp(`^## ${next} \\(\\d{4}-`, 'm'))
    const made = join(clone, 'build/release')
    assert.deepEqual(readdirSync(made).toSorted(), ['LICENSES.txt', `${name}-${next}.tgz`, 'sbom.cdx.json'])
    const { components } = JSON.parse(readFileSync(join(made, 'sbom.cdx.json'), 'utf8'))
    const licenses = readFileSync(join(made, 'LICENSES.txt'), 'utf8')
    for (const dependency of Object.keys(dependencies)) {
      assert.ok(
        components.some(({ name }: { name: string }) => name === dependency),
        dependency,
      )
      assert.ok(licenses.includes(`\n\n${dependency} `), dependency)
    }
    assert.ok(components.every(({ name }: { name: string }) => name !== 'typescript'))
  })
})

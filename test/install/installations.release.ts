// The README's two commands as users have them: in a fresh clone of what is committed, with their npm and Node.js.
// Not a part of `npm test`, because it installs all packages several times.
import assert from 'node:assert/strict'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { nodePackage } from '../../bin/run-node.js'
import { npmOf, ROOT, run } from '../support/npm.ts'
import { processTree } from '../support/process-tree.ts'
import { ACCOUNT, temporaryDirectory } from '../support/service.ts'

/**
 * Versions of npm, each with the Node.js that it runs on. The newest npm needs a newer one than 20. The README asks for
 * Node.js 20; on 18, npm warns that packages do too.
 */
const VERSIONS = [
  { npm: '8.19.4', node: '18' },
  { npm: '9.9.4', node: '18' },
  { npm: '10.8.2', node: '20' },
  { npm: '11.0.0', node: '20' },
  { npm: '10.9.4', node: '22' },
  { npm: '11.6.4', node: '24' },
  { npm: 'latest', node: '24' },
  { npm: 'latest', node: '26' },
]

/** Enough to see that `npm test` runs tests, and starts the service on SQLite and PostgreSQL. */
const KEPT_TESTS = ['test/catalogue/book.test.ts', 'test/spec/login.test.ts']

const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const PINNED: string = optionalDependencies[nodePackage()]

const directory = temporaryDirectory()
writeFileSync(join(directory.path, 'package.json'), '{}')
after(directory.remove)

for (const version of VERSIONS) {
  describe(`npm ${version.npm} on Node.js ${version.node}`, () => {
    const clone = join(directory.path, `clone for npm ${version.npm} on ${version.node}`)
    const npm = npmOf(
      join(directory.path, `node_modules/npm-${version.npm}/bin/npm-cli.js`),
      join(directory.path, `node_modules/node-${version.node}/bin/node`),
      clone,
    )
    before(() => {
      const packages = [
        `npm-${version.npm}@npm:npm@${version.npm}`,
        `node-${version.node}@npm:${nodePackage()}@${version.node}`,
      ]
      run('npm', ['install', '--no-save', '--loglevel=error', ...packages], { cwd: directory.path })
      run('git', ['clone', '--quiet', ROOT, clone])
    })

    it('npm ci has nothing to warn of', () => {
      const output = npm.run(['ci'])
      // A setting of this machine that npm does not know is not a fault of the package.
      const warnings = new Set(output.match(/(?<=^npm warn )(?!Unknown )\S+/gim))
      assert.deepEqual([...warnings], version.node === '18' ? ['EBADENGINE'] : [], output)
    })

    it('npm start answers requests on the pinned Node.js, and ends on SIGTERM', async () => {
      await using service = await npm.start({ METRICS_PORT: '0' })
      const response = await fetch(`${service.url}/token`, { method: 'POST', body: JSON.stringify(ACCOUNT) })
      assert.equal(response.status, 200)
      const metricsUrl = /"url":"(http:[^"]*)".*"msg":"metrics"/.exec(service.output())?.[1]
      const metrics = await (await fetch(metricsUrl ?? assert.fail(service.output()))).text()
      assert.ok(metrics.includes(`node="v${PINNED}"`), metrics)
      const [itself = assert.fail(), started = assert.fail()] = processTree(
        service.process.pid ?? assert.fail(),
      )
      // npm 9 passes no signals on.
      process.kill(version.npm.startsWith('9.') ? started : itself, 'SIGTERM')
      await service.ended
      assert.match(service.output(), /"msg":"stopped"/)
      assert.doesNotMatch(service.output(), /Warning/)
    })

    it('npm test runs the tests on the pinned Node.js', () => {
      for (const file of globSync('test/**/*.test.ts', { cwd: clone }))
        if (!KEPT_TESTS.includes(file)) rmSync(join(clone, file))
      const check = `import assert from 'node:assert'\nassert.equal(process.versions.node, '${PINNED}')\n`
      writeFileSync(join(clone, 'test/version.test.ts'), check)
      const output = npm.run(['test'], { ENGINES: 'sqlite,postgres' })
      assert.match(output, /version\.test\.ts/)
      assert.doesNotMatch(output, /ExperimentalWarning/)
    })
  })
}

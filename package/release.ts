// npm run release -- 1.2.3: raises the version in all places, checks them, and makes what is published.
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { licensesOf } from './licenses.ts'

process.chdir(join(import.meta.dirname, '..'))

const RELEASE = 'build/release'

const UNRELEASED = /^## Unreleased\n(?=\n[^#\s])/m

/** Set by npm, which runs this file. */
const { npm_execpath: npmPath = '' } = process.env

const { name, version: current } = readJson('package.json')
const [version = ''] = process.argv.slice(2)

const faults = faultsOf(version)
if (faults.length > 0) {
  process.stderr.write(`Cannot release: ${faults.join('\n  ')}\n`)
  process.exitCode = 1
} else release(version)

function release(version: string): void {
  npm('version', version, '--no-git-tag-version')
  for (const file of ['README.md', ...globSync('docs/*.md')])
    replace(file, (text) => text.replaceAll(`${name}-${current}.tgz`, `${name}-${version}.tgz`))
  const [today] = new Date().toISOString().split('T')
  replace('CHANGELOG.md', (text) => text.replace(UNRELEASED, `## ${version} (${today})\n`))
  npm('run', '--silent', 'check')
  npm('test', '--', 'test/docs.test.ts')

  rmSync(RELEASE, { recursive: true, force: true })
  mkdirSync(RELEASE, { recursive: true })
  npm('pack', '--silent', '--pack-destination', RELEASE)
  npm('publish', '--dry-run', '--silent')
  const shipped = shippedPackages()
  writeFileSync(`${RELEASE}/sbom.cdx.json`, JSON.stringify(billOfMaterials(shipped), null, 2))
  writeFileSync(`${RELEASE}/LICENSES.txt`, licensesOf(shipped.filter(existsSync)))
  process.stdout.write(`Version ${version} is in all places, and ${RELEASE} has the package, its bill of materials, and the licences.
Look through the changes, run npm audit and npm run test:all, then:

  git commit --all --message "Release ${version}" && git tag v${version}
  npm publish ${RELEASE}/${name}-${version}.tgz
`)
}

function faultsOf(version: string): string[] {
  const faults: string[] = []
  if (npmPath === '') faults.push('run it with npm run release')
  const numbers = /^(\d+)\.(\d+)\.(\d+)$/.exec(version)
  if (numbers === null) faults.push(`name a version such as 1.2.3, not ${JSON.stringify(version)}`)
  else if (!isNewer(version)) faults.push(`${version} is not newer than ${current}`)
  if (git('status', '--porcelain') !== '') faults.push('there are changes that are not committed')
  if (!UNRELEASED.test(readFileSync('CHANGELOG.md', 'utf8')))
    faults.push('CHANGELOG.md has no list of changes under "## Unreleased"')
  return faults
}

function isNewer(version: string): boolean {
  const order = new Intl.Collator('en', { numeric: true })
  return order.compare(version, current) > 0
}

/** The directories of the packages that a user gets, on any system. */
function shippedPackages(): string[] {
  const { packages } = readJson('package-lock.json')
  return Object.entries<{ dev?: boolean; devOptional?: boolean }>(packages)
    .filter(([path, { dev, devOptional }]) => path !== '' && !dev && !devOptional)
    .map(([path]) => path)
}

/** In CycloneDX. With `--omit dev`, npm 11 also leaves out packages that a development tool uses as peers, such as pg. */
function billOfMaterials(shipped: readonly string[]): object {
  const { packages } = readJson('package-lock.json')
  const names = new Set(
    shipped.map((path) => `${path.replace(/.*node_modules\//, '')}@${packages[path].version}`),
  )
  const bill: Bill = JSON.parse(npm('sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'))
  const root = bill.metadata.component['bom-ref']
  const components = bill.components.filter(({ name, version }) => names.has(`${name}@${version}`))
  const refs = new Set([root, ...components.map((component) => component['bom-ref'])])
  const dependencies = bill.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }))
  return { ...bill, components, dependencies }
}

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly version: string
}

interface Bill {
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

function replace(file: string, change: (text: string) => string): void {
  writeFileSync(file, change(readFileSync(file, 'utf8')))
}

function readJson(file: string) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

function npm(...args: string[]): string {
  return execFileSync(process.execPath, [npmPath, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' })
}

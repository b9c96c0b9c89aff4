// Makes build/book-catalogue: the service and its commands in one file, for the system that this runs on.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { nodePackage } from '../bin/run-node.js'
import { nodeFlags } from '../bin/start-options.js'
import { CATALOGUE, DOCS } from '../src/http/web-page/pages.ts'
import { licensesOf } from './licenses.ts'

process.chdir(join(import.meta.dirname, '..'))

const CODE = 'build/code'
const EXECUTABLE = 'build/book-catalogue'

const threads = globSync('**/*-thread.ts', { cwd: 'src' }).map((path) => path.slice(0, -'.ts'.length))
const sources = [CATALOGUE, DOCS].map(({ source }) => source)

rmSync('build', { recursive: true, force: true })
mkdirSync('build')
const { metafile } = await build({
  entryPoints: ['main', ...threads].map((name) => ({ in: `src/${name}.ts`, out: name })),
  outdir: CODE,
  bundle: true,
  platform: 'node',
  format: 'esm',
  external: ['pg-native'],
  // Packages in CommonJS require modules of Node.js.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom('/');",
  },
  minifyWhitespace: true,
  minifySyntax: true,
  metafile: true,
  logLevel: 'warning',
})

/** What src/resources.ts reads, by the names that it uses. */
const assets = Object.fromEntries([
  ...threads.map((name) => [`${name}.js`, `${CODE}/${name}.js`]),
  ...globSync('web/**/*.{html,css,js,svg}').map((path) => [path, path]),
  ...sources.flatMap(({ shared = [] }) => shared.map((path) => [join('web', path), join('web', path)])),
  ...sources.flatMap(({ modules = [] }) => modules.map((path) => [path, `src/${path}`])),
  ...sources.flatMap(({ libraries }) =>
    libraries.map((path) => [`node_modules/${path}`, `node_modules/${path}`]),
  ),
])
const config = {
  main: `${CODE}/main.js`,
  mainFormat: 'module',
  output: EXECUTABLE,
  disableExperimentalSEAWarning: true,
  execArgv: nodeFlags(),
  assets,
}
writeFileSync('build/sea.json', JSON.stringify(config))
execFileSync(process.execPath, ['--build-sea', 'build/sea.json'])
const packages = [...Object.keys(metafile.inputs), ...Object.keys(assets)].flatMap(
  (file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? [],
)
// They have to go with the executable.
writeFileSync(
  'build/LICENSES.txt',
  licensesOf([`node_modules/${nodePackage()}`, ...new Set(packages.toSorted())]),
)
cpSync('LICENSE', 'build/LICENSE')
process.stdout.write(`${EXECUTABLE}: ${Math.round(statSync(EXECUTABLE).size / 1e6)} MB\n`)

import { globSync, readFileSync } from 'node:fs'

/** @param directories of packages. @returns the name, the version and the licence of each, with its text. */
export function licensesOf(directories: readonly string[]): string {
  return directories
    .map((directory) => {
      const { name, version, license } = JSON.parse(readFileSync(`${directory}/package.json`, 'utf8'))
      const texts = globSync(`${directory}/{LICEN[CS]E,licen[cs]e}*`).map((file) =>
        readFileSync(file, 'utf8'),
      )
      return [`${name} ${version} (${license})`, ...texts].join('\n\n')
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`)
}

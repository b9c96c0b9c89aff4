/** docs/configuration.md describes them. */
export const SETTING_NAMES = [
  'DB_URL',
  'DB_URL_FILE',
  'DB_CONNECTIONS',
  'DB_CONNECTION_MAX_AGE',
  'STORE_TIMEOUT',
  'SECRET_TOKEN',
  'SECRET_TOKEN_FILE',
  'USERNAME',
  'PASSWORD',
  'PASSWORD_FILE',
  'PORT',
  'HOST',
  'THREADS',
  'LOG_LEVEL',
  'LOGIN_FAILURE_LIMIT',
  'TRUST_PROXY',
  'CORS_ORIGIN',
  'IMPORT_LIMIT',
  'METRICS_PORT',
] as const
export type SettingName = (typeof SETTING_NAMES)[number]

/** Values as in the environment. A setting that is absent or undefined has its default. */
export type Settings = { readonly [Name in SettingName]?: string | number | boolean | undefined }

/** Variables of other programs that are often in the same file. docs/configuration.md lists them. */
const FOREIGN =
  /^(?:(?:POSTGRES|MYSQL|MARIADB|COMPOSE|DOCKER|NODE|MALLOC|SQLITE|SYSTEMD|LC)_|(?:SITE|UPSTREAM|PUID|UMASK|TZ|LANG|LANGUAGE|PATH|HOME|TMPDIR|HTTP_PROXY|HTTPS_PROXY|ALL_PROXY|NO_PROXY)$)/i

/** Whether the service reads the variable: a setting, or a variable of libpq (`PG…`). */
export const isSetting = (name: string) =>
  name.startsWith('PG') || SETTING_NAMES.some((setting) => setting === name)

export const isForeign = (name: string) => FOREIGN.test(name)

/** @returns the setting whose name is most similar. */
export function nearestSetting(name: string): SettingName {
  const dissimilarity = (setting: SettingName) =>
    distance(name.toUpperCase(), setting) / Math.max(name.length, setting.length)
  return SETTING_NAMES.reduce((nearest, each) =>
    dissimilarity(each) < dissimilarity(nearest) ? each : nearest,
  )
}

/** @returns the setting that an unknown name probably misspells. Short names are too similar for two mistakes. */
export function probableSetting(name: string): SettingName | undefined {
  if (isSetting(name) || isForeign(name)) return undefined
  const isNear = (setting: SettingName) => {
    const limit = setting.length <= 4 ? 1 : 2
    return Math.abs(name.length - setting.length) <= limit && distance(name.toUpperCase(), setting) <= limit
  }
  return SETTING_NAMES.find(isNear)
}

/** @returns the number of letters that are missing, superfluous, different, or swapped with the next one. */
function distance(a: string, b: string): number {
  const rows: number[][] = []
  const at = (i: number, j: number) =>
    i === 0 || j === 0 ? i + j : (rows[i]?.[j] ?? Number.POSITIVE_INFINITY)
  for (let i = 1; i <= a.length; i++) {
    const row: number[] = []
    rows[i] = row
    for (let j = 1; j <= b.length; j++) {
      const isExchanged = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row[j] = Math.min(
        at(i - 1, j) + 1,
        at(i, j - 1) + 1,
        at(i - 1, j - 1) + Number(a[i - 1] !== b[j - 1]),
        isExchanged ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
  }
  return at(a.length, b.length)
}

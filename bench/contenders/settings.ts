/** What the bench tells every contender, in its environment. */
export interface Settings {
  readonly port: number
  readonly host: string
  /** The file of the database, or the URL of one on a server. */
  readonly database: string
  /** Whether this start may make the tables; production does not do so at each start. */
  readonly initialise: boolean
  readonly secret: string
  readonly username: string
  readonly password: string
}

/** @throws Error for a variable that is missing. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const read = (name: string) => {
    const value = environment[name]
    if (value === undefined) throw new Error(`${name} is not set`)
    return value
  }
  return {
    port: Number(read('PORT')),
    host: read('HOST'),
    database: read('DATABASE'),
    initialise: read('INITIALISE') === 'yes',
    secret: read('SECRET_TOKEN'),
    username: read('USERNAME'),
    password: read('PASSWORD'),
  }
}

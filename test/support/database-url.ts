/** The administrator's URL, turned into that of a database and the user of the same name. */
export function databaseUrl(admin: string, name: string, password: string): string {
  const url = new URL(admin)
  url.username = name
  url.password = password
  url.pathname = name
  return url.href
}

/** The name of the database that a URL leads to. */
export function nameIn(url: string): string {
  return decodeURIComponent(new URL(url).pathname.slice(1))
}

export interface NewBook {
  readonly title: string
  readonly author: string
  readonly year: number
}

export interface Book extends NewBook {
  readonly id: number
}

/** The book that every catalogue is filled with under this id; `SELECT_BOOKS` is the same in SQL. */
export function seededBook(id: number): Book {
  return {
    id,
    title: `The Left Hand of Darkness ${id}`,
    author: 'Ursula K. Le Guin',
    year: 1900 + (id % 125),
  }
}

/** A SELECT of title, author and year of the first books, from ids that a FROM clause names `n.id`. */
export function selectBooks(title: string, from: string): string {
  return `SELECT ${title}, 'Ursula K. Le Guin', 1900 + n.id % 125 FROM ${from} ORDER BY n.id`
}

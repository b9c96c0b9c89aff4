/** A number of things in a message, such as "1 book" or "2 books". */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

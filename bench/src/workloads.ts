/** What the load generator can send. */
export const WORKLOADS = ['login', 'get', 'post', 'put', 'delete', 'mix', 'busy', 'list'] as const
export type Workload = (typeof WORKLOADS)[number]

/** Clients of the workload `busy` that write, beside those that are measured. */
export const WRITERS = 64

/** What each is called in the results. */
export const WORKLOAD_TITLES: Record<Workload, string> = {
  login: 'Log in',
  get: 'GET one book, random ids',
  post: 'POST',
  put: 'PUT of one field, random ids',
  delete: 'DELETE',
  mix: '90 % GET, 5 % POST, 5 % PUT',
  busy: `GET one book, random ids, while ${WRITERS} others create books`,
  list: 'GET all books',
}

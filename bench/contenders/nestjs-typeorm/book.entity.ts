import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm'

@Entity('books')
export class Book {
  @PrimaryGeneratedColumn()
  id!: number

  @Column('text')
  title!: string

  @Column('text')
  author!: string

  @Column('int')
  year!: number
}

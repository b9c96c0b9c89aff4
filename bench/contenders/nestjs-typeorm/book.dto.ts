import { IsInt, IsOptional, IsString } from 'class-validator'

export class Login {
  @IsString()
  username!: string

  @IsString()
  password!: string
}

export class NewBook {
  @IsString()
  title!: string

  @IsString()
  author!: string

  @IsInt()
  year!: number
}

export class BookChanges {
  @IsOptional()
  @IsString()
  title?: string

  @IsOptional()
  @IsString()
  author?: string

  @IsOptional()
  @IsInt()
  year?: number
}
